return { on_todo = function(nr) for i, v in ipairs(nr) do halligan.set_attrib('role', i, 1, v) end end,
  sysdata = function(nr) return { nr = nr } end }
--@[1,-9223372036854775808,1e3,"\u0001\n",{"a":{}},[],true,false,null]
