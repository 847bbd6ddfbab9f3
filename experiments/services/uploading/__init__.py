"""The parts of an upload: its file, its columns, its rows, the check and the job."""
