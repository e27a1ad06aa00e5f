"""The library: one public function a job, typed, printing nothing; `from memcli import open_workspace` begins it.

`workspace` opens workspaces, `choice` narrows what a function looks at; each other module holds the functions of one
family of commands. Functions raise the errors of `memcli.errors` and return frozen dataclasses.
"""
