-- test-async: the first run writes a token to its wall data and ends with "async", as if other
-- software continued the work. The run of a retry finds the token, removes it and succeeds.

local function has_token(wall)
  return type(wall.test) == 'table' and type(wall.test.async) == 'table'
    and wall.test.async.token == true
end

return {
  do_transition = function(noderole)
    if has_token(noderole.wall) then
      return { result = 'ok', wall = {}, log = 'found the token: done' }
    end
    return {
      result = 'async',
      wall = { test = { async = { token = true } } },
      log = 'wrote a token; retry the noderole to finish the work',
    }
  end,
}
