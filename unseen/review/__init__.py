"""Look at labels in the browser, correct a few, and let the model learn from them.

origins.py    how a table of labels was made, so that the model can learn
journal.py    answers on the disk, before anyone is told that they are saved
answers.py    what the answers come to: a label for every row
items.py      what is looked at: photos, texts or rows, by number
teaching.py   the model learns from the answers, on a thread
session.py    all of it together, for any number of tabs
app.py        over HTTP, for one browser on this machine, until Ctrl-C
opening.py    finds everything from the table alone
"""
