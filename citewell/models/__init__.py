"""Encoders: texts to vectors through onnxruntime, and how their weights get there."""
