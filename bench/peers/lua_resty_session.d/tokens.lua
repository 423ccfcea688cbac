return require("site").tokens()
