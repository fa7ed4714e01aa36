"""An installed library under other names: what no model can have in memory."""
