// An authorisation server, and an MCP server that takes its tokens only. Ends with its standard input.
import { createServer, request as ask } from "node:http";
import { Provider } from "oidc-provider";

const [upstream] = process.argv.slice(2);

const listen = (server) =>
  new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${server.address().port}`)),
  );

let provider;
const authorization = createServer((request, response) => provider.callback()(request, response));
const issuer = await listen(authorization);

const guarded = createServer((request, response) => void guard(request, response));
const origin = await listen(guarded);
const resource = `${origin}/mcp`;

provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "tools"],
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({ scope: "tools", audience: resource }),
    },
  },
  issueRefreshToken: () => true,
  ttl: { AccessToken: 3600 },
});

async function guard(request, response) {
  if (request.url === "/.well-known/oauth-protected-resource/mcp") {
    response.writeHead(200, { "content-type": "application/json" });
    return response.end(JSON.stringify({ resource, authorization_servers: [issuer] }));
  }
  const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? [];
  const known = await provider.AccessToken.find(token);
  if (known === undefined || known.aud !== resource) {
    const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="tools"`;
    return response.writeHead(401, { "www-authenticate": challenge }).end();
  }
  const { method, headers } = request;
  const passed = ask(upstream, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    answer.pipe(response);
  });
  request.pipe(passed);
}

process.stdout.write(`${JSON.stringify({ issuer, resource })}\n`);
process.stdin.resume().on("end", () => process.exit());
