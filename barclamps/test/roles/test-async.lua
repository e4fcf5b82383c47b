-- The first run leaves a token on the wall and the work to somebody else; a retry makes it run
-- again, and that run takes the token back.

local function has_token(wall)
  return type(wall.test) == 'table' and type(wall.test.async) == 'table'
    and wall.test.async.token == true
end

return {
  do_transition = function(noderole)
    if has_token(noderole.wall) then
      return { result = 'ok', wall = {}, log = 'the token was there: done' }
    end
    return {
      result = 'async',
      wall = { test = { async = { token = true } } },
      log = 'left a token; retry me when the work is done',
    }
  end,
}
