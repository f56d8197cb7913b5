function event( print("> never") end
