export { Talk } from "./talk.tsx";
