import type { RunEvent } from './api-types.js';
type CallProgress = Pick<Extract<RunEvent, {
    type: 'tool_call.progress';
}>, 'progress' | 'total' | 'text'>;
/** Describes the progress of a call: `3 of 10, page 3`. */
export declare function howFar({ progress, total, text }: CallProgress): string;
export {};
