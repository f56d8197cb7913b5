print("> top")
error("no top")
