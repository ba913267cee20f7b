"""The HTTP server: the JSON API and the web page that uses it.

`app` builds the FastAPI application. A request passes the middleware in `security` and `limits`, is validated against
`schemas` by its route, and runs in a worker process (`workers` manages them, `worker` is one, `handlers` is the code that
runs there). Imports of files run as background jobs (`jobs`).
"""
