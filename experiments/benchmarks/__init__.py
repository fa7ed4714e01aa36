"""One file or folder per benchmark."""
