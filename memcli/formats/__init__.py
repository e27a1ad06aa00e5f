"""Files as values: text in, values out. Nothing here touches the disk."""
