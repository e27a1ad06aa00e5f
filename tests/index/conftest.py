"""Where hnswlib could not be compiled there is no graph to test, and all else must still pass."""

from memcli.index.graph import graph_available

collect_ignore = [] if graph_available() else ["test_graph.py"]
