// From the conformance folder beside the checkout (../shared/conformance/auth-preload.mjs), unchanged but for this line.
// Injects "Authorization: Bearer $MCP_TEST_TOKEN" into every outgoing HTTP request the conformance CLI makes
// (global fetch, node http.request, undici.request). Use: NODE_OPTIONS="--import /abs/auth-preload.mjs"
import { createRequire } from 'node:module';
import http from 'node:http';
const tok = process.env.MCP_TEST_TOKEN;
if (tok) {
  const value = `Bearer ${tok}`;
  const origFetch = globalThis.fetch;
  globalThis.fetch = (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    if (!headers.has('authorization')) headers.set('authorization', value);
    return origFetch(input, { ...init, headers });
  };
  const origReq = http.request;
  http.request = function (a, b, c) {
    const o = a && typeof a === 'object' && !(a instanceof URL) ? a : b;
    if (o && typeof o === 'object') o.headers = { authorization: value, ...(o.headers ?? {}) };
    return origReq.call(this, a, b, c);
  };
  try {
    const undici = createRequire(process.argv[1])('undici');
    const orig = undici.request;
    undici.request = (url, opts = {}, ...r) => orig(url, { ...opts, headers: { authorization: value, ...(opts.headers ?? {}) } }, ...r);
  } catch {}
}
