"""Any robot's bag or CSV file, and the run that it shows."""
