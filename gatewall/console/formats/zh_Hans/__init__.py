"""How the console writes times in Chinese; its script looks for times of this form."""
