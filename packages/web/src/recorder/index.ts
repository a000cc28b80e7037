export { RecorderPanel } from "./recorder-panel.tsx";
