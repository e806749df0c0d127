"""How the console writes times in English; its script looks for times of this form."""
