"""Look at labels in the browser, correct a few, and let the model learn from them.

journal.py    answers on the disk, before anyone is told that they are saved
answers.py    what the answers come to: a label for every row
pictures.py   photos as small and large JPEGs
things.py     what is looked at: photos, texts or rows, by number
origins.py    how a table of labels was made, so that it can be taught
teaching.py   the model learns from the answers
lessons.py    ... on a thread, one lesson at a time
tables.py     corrections and the corrected table as files
session.py    all of it together, for any number of tabs
app.py        over HTTP; guard.py for one browser on this machine; serve.py until Ctrl-C
opening.py    finds everything from the table alone
"""
