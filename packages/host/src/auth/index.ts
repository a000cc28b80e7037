export {
  createDoorkeeper,
  type Doorkeeper,
  type Principal,
  signInLifetimeMs,
} from "./doorkeeper.ts";
export { keepToken } from "./token-file.ts";
export { keepSignIns } from "./sign-in-file.ts";
