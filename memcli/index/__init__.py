"""The search index: derived from the files, rebuilt whenever they change."""

import os

# Read by numpy's BLAS when it is imported. With threads of its own it takes 40 to 60 ms longer to
# import, and scans 10,000 vectors in 8 ms instead of 1, because the threads wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
