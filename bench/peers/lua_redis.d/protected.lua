return require("answer")()
