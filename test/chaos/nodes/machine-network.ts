// The network of one machine, inside its namespace: ports on its loopback that lead out, and one that leads in. What
// lies outside decides whether anything gets through.
import { Link } from "./links.ts";
import { hostPort, machineNames, peerPort, postgresPort, telegramPort } from "./ports.ts";

const [folder = ""] = process.argv.slice(2);
await new Link(() => `${folder}/postgres.sock`).listen(postgresPort);
await new Link(() => `${folder}/telegram.sock`).listen(telegramPort);
for (const name of machineNames)
  await new Link(() => `${folder}/../${name}/peer.sock`).listen(peerPort(name));
await new Link(() => hostPort).listen(`${folder}/web.sock`);
