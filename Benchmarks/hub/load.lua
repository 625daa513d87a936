-- Puts objects of new names, each connection in one of the vaults in turn: for wrk. HUB_SESSIONS names a file of lines "VAULT SESSION",
-- HUB_BYTES says how large an object is.
local sessions, thread_count = {}, 0
for line in io.lines(os.getenv("HUB_SESSIONS")) do
  local vault, session = line:match("(%S+) (%S+)")
  sessions[#sessions + 1] = { path = "/v1/vaults/" .. vault .. "/objects/", session = "Bearer " .. session }
end
local body = string.rep("x", tonumber(os.getenv("HUB_BYTES")))
local random = io.open("/dev/urandom", "rb"):read(16):gsub(".", function(byte) return string.format("%02x", byte:byte()) end)

function setup(thread)
  thread:set("number", thread_count)
  thread_count = thread_count + 1
end

local count = 0
function request()
  count = count + 1
  local place = sessions[count % #sessions + 1]
  local writer = string.format("%s%02x", random:sub(1, 30), number)
  local name = string.format("%s/%s/%016d-%016d-%s-%s.run", writer, writer, count, count, random:sub(1, 16), random:sub(1, 16))
  return wrk.format("PUT", place.path .. name, { ["Authorization"] = place.session }, body)
end

local refused = 0
function response(status) if status ~= 201 then refused = refused + 1 end end

function done(summary, latency)
  io.write(string.format('{"requests": %d, "seconds": %f, "p50": %f, "p99": %f, "errors": %d}\n', summary.requests,
    summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
