"""The methods of the wire, one module per noun. Each is loaded when one of its methods is first asked for."""
