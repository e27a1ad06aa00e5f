"""Derived, disposable search data in `.mem/`; numpy stays on this floor."""
