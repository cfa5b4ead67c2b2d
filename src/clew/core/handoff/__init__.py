"""What one window leaves for the next: ledger, plan, continuation hint, fill level. Values only."""
