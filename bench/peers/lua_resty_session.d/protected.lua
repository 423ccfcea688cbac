return require("site").answer()
