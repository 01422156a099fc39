"""Gradients that other code computed: from a file (`reading`) or from a program that is run
(`command`).

`written` tells how precisely numbers were written down, `comparing` compares them with the
gradients of reverse mode, and `mistakes` names what is commonly wrong with all numbers of a
gradient.
"""
