"""The HTTP server: the library's answers as JSON, and the page that asks for them.

`app` puts the parts together. A request passes `security` and `limits`, is checked against `shapes` by its route, and goes to a
process of its own (`workers` has them, `worker` is one, `answering` is what they do). What is added goes through `jobs`.
"""
