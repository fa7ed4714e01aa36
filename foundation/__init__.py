"""What every package uses: errors, commands, progress, text for a terminal, JSON lines."""
