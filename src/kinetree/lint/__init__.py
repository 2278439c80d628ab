"""What is wrong or doubtful in files of mechanisms and studies, all of it at once."""
