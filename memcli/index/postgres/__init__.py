"""The index of a team on PostgreSQL with pgvector; psycopg stays here."""
