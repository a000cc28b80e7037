export { type Attempts, createAttempts } from "./attempts.ts";
export {
  createDoorkeeper,
  type Doorkeeper,
  nameOf,
  type Principal,
  signInLifetimeMs,
} from "./doorkeeper.ts";
export { keepPassword, type Passwords, shortestPassword } from "./password.ts";
export { keepToken } from "./token-file.ts";
export { keepSignIns } from "./sign-in-file.ts";
