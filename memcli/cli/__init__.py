"""The shell commands: parse, call one function, print."""
