"""Serving of models: encoders, cross-encoders, learning to rank and others, with onnxruntime and numpy alone."""
