/** On the loopback of each machine, which is its own. */
export const hostPort = 8787;
export const postgresPort = 5432;
export const telegramPort = 8081;
