/** On the loopback of each machine, which is its own. */
export const hostPort = 8787;
export const postgresPort = 5432;
export const telegramPort = 8081;
/** Where the hosts of all machines are, this one included: they forward requests for files to each other. */
export const machineNames = ["node1", "node2", "node3"] as const;
export const peerPort = (name: (typeof machineNames)[number]): number =>
  9_001 + machineNames.indexOf(name);
