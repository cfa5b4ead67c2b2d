"""What a run is: its record, what it may do, what it tells while it works."""
