return { on_todo = function( end
