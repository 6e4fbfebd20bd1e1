// The official TypeScript server: a fresh server a request, as its documentation shows it.
// PORT is where it listens, BENCH_TOOLS how many further tools it offers.
import { createServer } from 'node:http';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';

const tools = Number(process.env.BENCH_TOOLS ?? 0);
const addends = z.object({ a: z.number().int(), b: z.number().int() });
const sum = z.object({ result: z.number() });
const count = z.object({ n: z.number().int() });
const lookup = z.object({
  customer_id: z.number().int(),
  name: z.string(),
  limit: z.number().int().default(10),
  verbose: z.boolean().default(false),
  tags: z.array(z.string()).optional(),
});
const description =
  'Look up the record of a customer and return its fields, with an optional limit.';

async function add({ a, b }) {
  const result = a + b;
  return { content: [{ type: 'text', text: String(result) }], structuredContent: { result } };
}

async function progress({ n }, context) {
  const progressToken = context.mcpReq?._meta?.progressToken;
  for (let done = 0; done < n; done++) {
    const params = { progressToken, progress: done, total: n };
    await context.mcpReq.notify({ method: 'notifications/progress', params });
  }
  return { content: [{ type: 'text', text: '999999999' }] };
}

function server() {
  const made = new McpServer({ name: 'bench', version: '1' });
  const adding = { description: 'Add two numbers.', inputSchema: addends, outputSchema: sum };
  made.registerTool('add', adding, add);
  made.registerTool('progress', { description: 'Report n times.', inputSchema: count }, progress);
  for (let number = 0; number < tools; number++) {
    made.registerTool(`tool_${number}`, { description, inputSchema: lookup }, async () => ({
      content: [],
    }));
  }
  return made;
}

const handle = toNodeHandler(createMcpHandler(server, { responseMode: 'auto' }));
createServer((request, response) => handle(request, response)).listen(
  Number(process.env.PORT),
  '127.0.0.1',
);
