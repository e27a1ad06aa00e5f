"""Measure the secret scanner (bench/secret_scan.py): python bench/secrets.py --help."""

import sys

if __name__ == "__main__":
    from secret_scan import main

    main()
else:
    # Next to this file, a neighbour's numpy that asks for the standard library's module of this name gets here.
    from importlib.util import module_from_spec, spec_from_file_location
    from sysconfig import get_path

    spec = spec_from_file_location("secrets", f"{get_path('stdlib')}/secrets.py")
    if spec is not None and spec.loader is not None:
        sys.modules[__name__] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[__name__])
