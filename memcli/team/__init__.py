"""The index that a team shares on PostgreSQL."""
