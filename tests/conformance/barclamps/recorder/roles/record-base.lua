-- Logs its arguments, then does what the data of its object requests:
--   record.fail = 'on_todo'    the hook of that name fails
--   record.bind = { 'role' }   on_active binds these to its node
--   record.veto = 'on_commit'  the veto request of that name is vetoed
--   record.value = ...         sysdata computes this
--   record.result = ...        do_transition returns this
-- Nodes and deployments have no such data; their names decide: "broken", "forbidden".

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

local function recorded(hook)
  return function(subject, context)
    record(subject, context)
    if orders(subject).fail == hook then
      error('failure requested by the test')
    end
  end
end

local function recorded_node(hook)
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
      halligan.veto('veto requested by the test')
    end
    return not halligan.match(subject.node or subject.deployment, '^forbidden')
  end
end

return {
  on_proposed = recorded('on_proposed'),
  on_blocked = recorded('on_blocked'),
  on_todo = recorded('on_todo'),
  on_transition = recorded('on_transition'),
  on_active = function(noderole, context)
    recorded('on_active')(noderole, context)
    for _, role in ipairs(orders(noderole).bind or {}) do
      halligan.bind(noderole.node_id, role)
    end
  end,
  on_error = recorded('on_error'),

  on_commit = asked('on_commit'),
  on_node_bind = asked('on_node_bind'),
  on_deployment_create = asked('on_deployment_create'),
  on_deployment_delete = recorded('on_deployment_delete'),

  on_node_create = recorded_node('on_node_create'),
  on_node_change = recorded_node('on_node_change'),
  on_node_delete = recorded_node('on_node_delete'),

  sysdata = function(noderole, context)
    recorded('sysdata')(noderole, context)
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
