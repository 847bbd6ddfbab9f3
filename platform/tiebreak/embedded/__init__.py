"""The servers that Tiebreak brings along: PostgreSQL, Valkey, a worker and the web server."""
