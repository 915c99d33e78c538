/** Whether the device has a screen keyboard. It would cover the content when a field takes the focus. */
export const hasScreenKeyboard = (): boolean => matchMedia('(pointer: coarse)').matches
