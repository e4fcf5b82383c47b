-- Tells the log what it is called with, then does what the data of its subject say:
--   record.fail = 'on_todo'    the hook of that name fails
--   record.bind = { 'role' }   on_active binds these to its node
--   record.veto = 'on_commit'  the question of that name is answered with no
--   record.value = ...         sysdata computes this
--   record.result = ...        do_transition returns this
-- Nodes and deployments have no such data; their names tell: "broken", "forbidden".

local function escape(text, character, with)
  return table.concat(halligan.split(text, character), with)
end

local function quote(text)
  text = escape(escape(text, '\\', '\\\\'), '"', '\\"')
  return '"' .. escape(escape(text, '\n', '\\n'), '\t', '\\t') .. '"'
end

local function json(value)
  if value == nil or value == halligan.null then
    return 'null'
  elseif type(value) == 'string' then
    return quote(value)
  elseif type(value) ~= 'table' then
    return tostring(value)
  end
  local parts = {}
  if #value > 0 then
    for i, item in ipairs(value) do
      parts[i] = json(item)
    end
    return '[' .. table.concat(parts, ',') .. ']'
  end
  for key, item in pairs(value) do
    table.insert(parts, quote(key) .. ':' .. json(item))
  end
  return '{' .. table.concat(parts, ',') .. '}'
end

-- A line of the log is short, so a record takes several of them.
local function record(argument, context)
  local text = '{"argument":' .. json(argument) .. ',"context":' .. json(context) .. '}'
  for from = 1, #text, 900 do
    halligan.log((from == 1 and '> ' or '+ ') .. string.sub(text, from, from + 899))
  end
  halligan.log('.')
end

local function orders(subject)
  return type(subject.data) == 'table' and type(subject.data.record) == 'table'
    and subject.data.record or {}
end

local function told(hook)
  return function(subject, context)
    record(subject, context)
    if orders(subject).fail == hook then
      error('told to fail')
    end
  end
end

local function told_of_node(hook)
  return function(node, context)
    record(node, context)
    if halligan.match(node.name, '^broken') and context.role.name == 'record-child' then
      halligan.set_bootenv(node, hook)
      error('the node is broken')
    end
  end
end

local function asked(hook)
  return function(subject, context)
    record(subject, context)
    if orders(subject).veto == hook then
      halligan.veto('told to say no')
    end
    return not halligan.match(subject.node or subject.deployment, '^forbidden')
  end
end

return {
  on_proposed = told('on_proposed'),
  on_blocked = told('on_blocked'),
  on_todo = told('on_todo'),
  on_transition = told('on_transition'),
  on_active = function(noderole, context)
    told('on_active')(noderole, context)
    for _, role in ipairs(orders(noderole).bind or {}) do
      halligan.bind(noderole.node_id, role)
    end
  end,
  on_error = told('on_error'),

  on_commit = asked('on_commit'),
  on_node_bind = asked('on_node_bind'),
  on_deployment_create = asked('on_deployment_create'),
  on_deployment_delete = told('on_deployment_delete'),

  on_node_create = told_of_node('on_node_create'),
  on_node_change = told_of_node('on_node_change'),
  on_node_delete = told_of_node('on_node_delete'),

  sysdata = function(noderole, context)
    told('sysdata')(noderole, context)
    return { record = { value = orders(noderole).value or 0 } }
  end,

  template = function(nothing)
    record(nothing)
    return { record = { kind = 'recorded' } }
  end,

  do_transition = function(noderole, data)
    record(noderole, data)
    halligan.log('worked on ' .. noderole.node)
    return orders(noderole).result or 'ok'
  end,
}
