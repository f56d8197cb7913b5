function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query("SELECT 1") end
sysbench.hooks.report_intermediate = sysbench.report_json
