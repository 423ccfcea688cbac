return require("check").answer()
